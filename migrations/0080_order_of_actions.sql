-- As 0076_order_of_members.sql did for flows: a model gives the arguments of a tool in the order of the tool's schema, and people read it so.
-- Null in rows of before. Processes of before replace action alone, so the text counts only while both are equal.
alter table imported_actions add column written_action json;
