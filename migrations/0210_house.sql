-- Temporal lets one process at a time work on an erasure or sweep blobs, and knows when the next sweep is due.
alter table erasures drop column leased_until, drop column claim;
drop table housekeeping;
