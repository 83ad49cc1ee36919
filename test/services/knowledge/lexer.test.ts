import { expect, it } from "vitest";
import { createLexer } from "../../../src/services/knowledge/lexer.ts";
import type { Database } from "../../../src/stores/db.ts";
import { lexWords } from "../../../src/stores/knowledge/search.ts";
import { ownDatabase } from "../../stores/rows.ts";

const own = ownDatabase();

/** Counts what Postgres is asked. */
function counted() {
  let asked = 0;
  const search: Database["search"] = (work) => {
    asked += 1;
    return own.database.search(work);
  };
  return { database: { ...own.database, search }, asked: () => asked };
}

it("says what Postgres says of words, and asks it once", async () => {
  const { database, asked } = counted();
  const lexer = createLexer(database);
  const words = ["running", "the", "running", "houses", "e-mails", "x".repeat(50)];
  for (const languages of [["english"], ["english", "german"], ["simple"]]) {
    const told = await own.database.search((db) => lexWords(db, words, languages));
    const before = asked();
    const byWord = words.map((_, at) => told.flatMap(({ word, ...lexeme }) => (word === at ? [lexeme] : [])));
    expect(await lexer.lex(words, languages)).toEqual(byWord);
    expect(await lexer.lex(["houses", "running"], languages)).toEqual([byWord[3], byWord[0]]);
    expect(asked()).toBe(before + 1);
  }
});

it("keeps the last requested ones", async () => {
  const { database, asked } = counted();
  const lexer = createLexer(database, 2);
  const lex = async (...words: string[]): Promise<boolean> => {
    const before = asked();
    await lexer.lex(words, ["english"]);
    return asked() > before;
  };
  await lex("one");
  await lex("two");
  expect(await lex("one")).toBe(false);
  await lex("three");
  expect([await lex("one"), await lex("three"), await lex("two")]).toEqual([false, false, true]);
  // Long ones are not kept.
  const long = "w".repeat(41);
  expect([await lex(long), await lex(long)]).toEqual([true, true]);
});
