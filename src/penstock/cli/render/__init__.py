"""What commands print: tables, fields, changes, moments and JSON. Data from the user is never read as markup."""
