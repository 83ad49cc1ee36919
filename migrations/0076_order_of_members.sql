-- jsonb sorts the members of objects. A model answers in the order of a node's schema, and people read their flow as they wrote it: json
-- keeps the text. Null in rows of before, and in those that processes of before still write; plan stays for what SQL asks of it.
alter table flow_versions add column written_definition json;
alter table flow_versions add column written_plan json;
