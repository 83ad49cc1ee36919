-- By which rules the words of a chunk were found: WORD_RULES in src/domain/knowledge/words.ts. Chunks of earlier rules have the words
-- that Postgres' parser made of them, which lost those beside typographic punctuation where lc_ctype is C. The workers index them
-- again, from the text that is stored. The partial index has those that are left; writing a chunk of the present rules costs nothing.
alter table knowledge_chunks add column word_rules smallint not null default 0;
create index knowledge_chunks_word_rules_idx on knowledge_chunks (index_no, chunk_no) where word_rules < 1;
