"""Results in notebooks: the tables of the terminal as HTML, and pictures. Python loads it at the first use."""
