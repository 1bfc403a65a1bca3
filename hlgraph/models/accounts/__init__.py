"""Accounts for calls of chat models: ledger, budgets, prices and kept replies."""
