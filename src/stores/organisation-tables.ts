/** The tables with rows of organisations, as rows of pg_class, in the schema of our tables, whatever the search path. */
export const ORGANISATION_TABLES = `
  select t.* from pg_class t
  where t.relnamespace = (select relnamespace from pg_class where oid = to_regclass('runs')) and t.relkind in ('r', 'p')
    and (t.relname = 'knowledge_postings'
      or exists (select from pg_attribute a where a.attrelid = t.oid and a.attname = 'org_id' and not a.attisdropped))`;
