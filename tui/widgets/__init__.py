"""Controls that draw; they get data by attribute and say by message what the user wants."""
