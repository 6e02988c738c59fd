-- An entry's classification is any text, the empty one included. Readers admit NULL and UNCLASSIFIED by these literals, and
-- every other text in the scope "classified" alone (policies/parapet/audit).
ALTER TABLE audit.entries DROP CONSTRAINT entries_classification_check;
