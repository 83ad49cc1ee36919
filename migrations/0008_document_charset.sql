-- The charset that an uploaded file was declared with, for texts that are not UTF-8.
alter table documents add column charset text;
