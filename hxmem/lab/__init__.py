"""What the lessons use: a fresh folder, views of bodies and files, exercises that answer."""

from hxmem.lab.checks import check, compare, hint
from hxmem.lab.course import Lesson, data_folder, lessons_folder
from hxmem.lab.views import (
    View,
    desk_and_drawer,
    diff_bodies,
    picture,
    show_body,
    show_cut,
    show_cuts,
    show_drawer,
    show_journal,
    show_table,
    timeline,
    token_plot,
)
from hxmem.lab.widgets import Inspector

__all__ = [
    "Inspector",
    "Lesson",
    "View",
    "check",
    "compare",
    "data_folder",
    "desk_and_drawer",
    "diff_bodies",
    "hint",
    "lessons_folder",
    "picture",
    "show_body",
    "show_cut",
    "show_cuts",
    "show_drawer",
    "show_journal",
    "show_table",
    "timeline",
    "token_plot",
]
