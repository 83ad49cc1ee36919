-- Who may read and write what. src/stores/access.ts has the same rules, to find and mend what a restore has lost.
do $$
begin
  if not exists (select from pg_roles where rolname = 'millrace_app') then
    create role millrace_app nologin;
  end if;
exception when duplicate_object or unique_violation then
  null; -- another database of this cluster is being migrated at the same time; roles are the cluster's
end
$$;
-- Searches run as a role of their own, which reads the tables of knowledge bases and nothing else. Operators such as @@ and <=> are not
-- leakproof, so under a policy Postgres would apply them only to rows it has already checked, and never through an index.
-- Every statement of this role therefore names the organisation itself.
do $$
begin
  if not exists (select from pg_roles where rolname = 'millrace_search') then
    create role millrace_search nologin;
  end if;
exception when duplicate_object or unique_violation then
  null; -- another database of this cluster is being migrated at the same time; roles are the cluster's
end
$$;
-- 16 bytes of organisation in each posting would be a third of the table: its index tells whose it is. The array is made
-- once a statement.
alter table knowledge_postings enable row level security;
create policy org_rows on knowledge_postings to millrace_app
  using (index_no = any (array(select i.index_no from knowledge_indexes i where i.org_id = current_org())))
  with check (index_no = any (array(select i.index_no from knowledge_indexes i where i.org_id = current_org())));
grant select, insert, update, delete on knowledge_postings to millrace_app;

do $$
declare
  name text;
begin
  foreach name in array array['millrace_app', 'millrace_search'] loop
    execute format('grant usage on schema %I to %I', current_schema(), name);
    -- Membership lets a login role that is no superuser take the role on.
    begin execute format('grant %I to %I', name, current_user); exception when others then null; end;
  end loop;

  -- Every table with rows of organisations, partitions included.
  for name in
    select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'org_id'
    where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p')
  loop
    execute format('alter table %I enable row level security', name);
    execute format('create policy org_rows on %I to millrace_app using (org_id = current_org()) with check (org_id = current_org())', name);
    execute format('grant select, insert, update, delete on %I to millrace_app', name);
  end loop;

  for name in
    select c.relname from pg_class c where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r'
      and c.relname in ('knowledge_bases', 'knowledge_resources', 'knowledge_indexes', 'knowledge_index_resources',
        'knowledge_chunks', 'knowledge_embeddings', 'knowledge_postings', 'knowledge_vectors')
  loop
    execute format('create policy searched_rows on %I for select to millrace_search using (true)', name);
    execute format('grant select on %I to millrace_search', name);
  end loop;
end
$$;

-- Written once, and never changed.
revoke update on model_calls, run_deltas, run_traces from millrace_app;
-- Even the person that an entry is about must not be able to remove it.
revoke update, delete on audit_log from millrace_app;
