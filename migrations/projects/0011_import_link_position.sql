-- An item that comes again may name its links in another order.

GRANT UPDATE (position) ON projects.import_links TO parapet_tracker;
