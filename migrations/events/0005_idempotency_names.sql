-- The ids of the records that the request names, in the order of its fields. A repetition uses
-- them, because the request itself may have changed or deleted the names.
ALTER TABLE events.idempotency_keys ADD COLUMN names uuid[];
