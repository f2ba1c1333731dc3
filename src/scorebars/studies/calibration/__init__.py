"""Are a forecast's error bars right? Judged with the errors of the labels allowed for."""
