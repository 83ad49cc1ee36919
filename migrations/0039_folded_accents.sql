-- Words are found with and without their accents: lexemes are kept without them, and those of queries are folded the same way
-- (src/domain/knowledge/languages.ts has the same function for prefixes). After stemming, because stemmers and stop words know the accents
-- of their language.
create function fold_accents(word text) returns text language sql immutable strict parallel safe as $$
  select case when word ~ '^[\x01-\x7f]*$' then word
    else coalesce(nullif(
      replace(replace(replace(
        translate(normalize(regexp_replace(normalize(word, NFD), '[\u0300-\u036f]', '', 'g'), NFC), 'łøđħŧı', 'lodhti'),
        'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe'), ''), word) end
$$;
create function fold_accents(lexemes tsvector) returns tsvector language sql immutable strict parallel safe as $$
  select case when lexemes::text ~ '^[\x01-\x7f]*$' then lexemes
    else (select string_agg(
        '''' || replace(replace(fold_accents(u.lexeme), '\', '\\'), '''', '''''') || ''':' || array_to_string(u.positions, ','), ' ')
      from unnest(lexemes) u)::tsvector end
$$;

-- What is indexed already. Of two lexemes that become one, the postings are added up.
with accented as (
  delete from knowledge_postings where term ~ '[^\x01-\x7f]' and term <> fold_accents(term) returning index_no, term, chunk_no, tf, length)
insert into knowledge_postings (index_no, term, chunk_no, tf, length)
  select index_no, fold_accents(term), chunk_no, least(sum(tf), 32767)::smallint, max(length) from accented group by 1, 2, 3
  on conflict (index_no, term, chunk_no) do update set tf = least(knowledge_postings.tf::int + excluded.tf, 32767)::smallint;
update knowledge_chunks set lexemes = fold_accents(lexemes) where lexemes::text ~ '[^\x01-\x7f]';
update knowledge_indexes set version = version + 1;
