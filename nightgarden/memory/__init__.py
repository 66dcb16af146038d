"""What is kept: day records and, later, the memories themselves."""
