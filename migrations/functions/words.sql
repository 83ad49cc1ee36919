-- Words are found with and without their accents: lexemes are kept without them, and those of queries are folded the same way
-- (src/domain/knowledge/languages.ts has the same function for prefixes). After stemming, because stemmers and stop words know the accents
-- of their language.
create or replace function fold_accents(word text) returns text language sql immutable strict parallel safe as $$
  select case when word ~ '^[\x01-\x7f]*$' then word
    else coalesce(nullif(
      replace(replace(replace(
        translate(normalize(regexp_replace(normalize(word, NFD), '[\u0300-\u036f]', '', 'g'), NFC), 'łøđħŧı', 'lodhti'),
        'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe'), ''), word) end
$$;
create or replace function fold_accents(lexemes tsvector) returns tsvector language sql immutable strict parallel safe as $$
  select case when lexemes::text ~ '^[\x01-\x7f]*$' then lexemes
    else (select string_agg(
        '''' || replace(replace(fold_accents(u.lexeme), '\', '\\'), '''', '''''') || ''':' || array_to_string(u.positions, ','), ' ')
      from unnest(lexemes) u)::tsvector end
$$;
