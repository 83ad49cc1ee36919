import { expect, it } from "vitest";
import { createLexer } from "../../../src/services/knowledge/lexer.ts";
import type { Database } from "../../../src/stores/db.ts";
import { ownDatabase } from "../../stores/rows.ts";

const own = ownDatabase();

/** A lexer that counts its queries to Postgres. */
function counted() {
  let asked = 0;
  const search: Database["search"] = (orgId, work) => {
    asked += 1;
    return own.database.search(orgId, work);
  };
  return { database: { ...own.database, search }, asked: () => asked };
}

it("returns the lexemes of the Postgres dictionaries and requests them once per word", async () => {
  const { database, asked } = counted();
  const lexer = createLexer(database);
  const words = ["running", "the", "houses", "häuser", "e-mails", "x".repeat(50), "node.js", "1.2.3"];
  const long = "x".repeat(50);
  for (const [languages, lexemes] of [
    [["english"], [["run"], [], ["hous"], ["hauser"], ["e-mail"], [long], ["node.js"], ["1.2.3"]]],
    [
      ["english", "german"],
      [["run", "running"], ["the"], ["hous"], ["hauser", "haus"], ["e-mail"], [long], ["node.js"], ["1.2.3"]],
    ],
    [
      ["russian", "simple"],
      [
        ["run", "running"],
        ["the"],
        ["hous", "houses"],
        ["hauser"],
        ["e-mail", "e-mails"],
        [long],
        ["node.js"],
        ["1.2.3"],
      ],
    ],
  ] as const) {
    const before = asked();
    expect((await lexer.lex(words, languages)).map((each) => [...each].toSorted())).toEqual(
      lexemes.map((each) => [...each].toSorted()),
    );
    await lexer.lex(["houses", "running"], languages);
    expect(asked()).toBe(before + 1);
  }
});

it("caches the words that were requested last", async () => {
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
  // Long words are not cached.
  const long = "w".repeat(41);
  expect([await lex(long), await lex(long)]).toEqual([true, true]);
});
