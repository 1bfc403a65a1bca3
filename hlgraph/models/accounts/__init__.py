"""Token and money accounting of chat calls: ledger, budgets, prices and stored replies."""
