-- How many resources can be found in an index: counting those of a large knowledge base took longer than searching it.
alter table knowledge_indexes add column resource_count integer not null default 0;
update knowledge_indexes i set resource_count =
  (select count(*) from knowledge_index_resources x where x.index_no = i.index_no);
