import { beforeAll, describe, expect, it } from "vitest";
import { openDatabase } from "../../../src/stores/db.ts";
import { migrate } from "../../../src/stores/migrate.ts";
import { emptyDatabase, testDatabase } from "../../support/database.ts";
import { MIGRATIONS } from "../../support/own-postgres.ts";
import { addResource, ask, buildBase, ownKnowledge, type BuiltBase } from "./knowledge.ts";

/** A sentence, and queries that each find it. */
const SENTENCES: ReadonlyArray<readonly [text: string, ...queries: string[]]> = [
  // Typographic punctuation
  [
    "The “Agreement” covers the company’s warranty—nothing else. Price: €450.",
    "agreement",
    "company",
    "warranty",
    "450",
    "“Agreement”",
    "company’s",
    '"agreement covers the company"',
  ],
  ["Der „Vertrag“ gilt für die ‚Lieferung‘ – sonst nichts.", "vertrag", "Lieferung", "„Vertrag“"],
  ["L’abonnement n’est pas remboursé…", "abonnement", "l’abonnement", "remboursé"],
  ["Магазин «Ромашка» открыт – каждый день.", "ромашка", "«Ромашка»", "день"],
  ["•Invoices are paid within a week", "invoices", "•Invoices"],
  ["Nach §433 ist die Sache zu übergeben.", "433", "§433", "übergeben"],
  ["Open 10–15 on Mondays; closed 7−8.", "10", "15", "10–15", "8"],
  ["©2024 Example™ Limited®", "2024", "©2024", "example", "limited"],
  ["Temperatur: 20°C±2℃, Höhe 12′ 30″", "temperatur", "20", "30", "hohe"],
  ["See ‘Refunds’, “Returns”… and ‹Repairs›.", "refunds", "returns", "repairs"],
  ["¿Dónde está el recibo? ¡Aquí!", "dónde", "recibo", "aqui", "¿Dónde?"],
  ["Footnotes¹ and CO₂ and m² are numbered² here", "footnotes", "co2", "CO₂", "numbered"],
  ["Half¼ a ½ cup → two cups ⇒ done ✓", "cup", "done", "half"],
  ["Zahlbar｜sofort（netto）、danach：Mahnung", "sofort", "netto", "mahnung"],
  // Scripts
  ["ينتهي العقد، ثم يبدأ الضمان؛ هل هذا واضح؟", "العقد", "الضمان", "واضح؟", "ما هو العقد؟"],
  ["كتـــاب المُعَلِّم «الجديد»", "كتاب", "الجديد"],
  ["من می‌خواهم خانه‌ها را ببینم.", "می‌خواهم", "میخواهم", "خواهم", "خانه"],
  ["החוזה — ‘צה״ל’ בית־ספר, ש׳", "החוזה", "צה״ל", "ספר", "בית־ספר"],
  ["Η «σύμβαση» λήγει· τι γίνεται;", "σύμβαση", "συμβαση", "λήγει", "ΓΊΝΕΤΑΙ;"],
  ["Гарантія — 2 роки, „безкоштовно“", "гарантія", "безкоштовно"],
  ["保修期为两年，之后“收费”。", "保修期", "收费", "两年"],
  ["保証は二年間です。「返品」は十日以内・送料別", "保証", "返品", "送料"],
  ["한국어 ‘보증’은 2년… 「환불」", "한국어", "환불"],
  ["การรับประกัน น้ำ “สองปี” ๆ", "รับประกัน", "น้ำ", "ปี"],
  // The same letters with two word divisions.
  ["ตาก\u200bลม และ ตา\u200bกลม", "ตาก", "ลม", "ตา", "กลม"],
  ["ວາລະສານ ນ້ຳ ແລະ “ສັນຍາ”", "ສັນຍາ", "ນ້ຳ"],
  ["គ្រឿង\u200bធានា «សៀវភៅ»។", "ធានា", "សៀវភៅ"],
  ["वारंटी “दो वर्ष” की है। क्\u200dषमा", "वारंटी", "वर्ष", "क्षमा"],
  ["உத்தரவாதம் – ‘இரண்டு’ ஆண்டுகள்", "உத்தரவாதம்", "இரண்டு"],
  ["ওয়ারেন্টি “দুই” বছর।", "ওয়ারেন্টি", "বছর"],
  ["Երաշխիք՝ «երկու» տարի։", "երկու", "տարի"],
  ["გარანტია „ორი“ წელი", "გარანტია", "ორი"],
  ["የዋስትና፣ “ሁለት” ዓመት።", "ሁለት", "ዓመት"],
  // Decomposed and compatible letters
  ["Une cre\u0301me bru\u0302le\u0301e—“vraiment”", "crème", "creme", "brûlée", "vraiment"],
  ["ＦＵＬＬ width ﬁnance ǅ ①②", "full", "finance", "fi*"],
  ["한글".normalize("NFD") + " ﾊﾞﾅﾅ ガ".normalize("NFD"), "한글", "バナナ"],
  ["İSTANBUL’da ıhlamur — STRASSE", "istanbul", "İstanbul", "ıhlamur", "straße"],
  // Invisible characters
  [
    "co\u00adoper\u200bation, sub\u2060scription \ufefftotal \u200ehidden\u200f a\u202ebc\u202cd",
    "cooperation",
    "co\u00adoperation",
    "subscription",
    "total",
    "hidden",
    "abcd",
    "\u2067cooperation\u2069",
  ],
  // Identifiers
  ["Redirect input/output to a file.", "input/output", "input", "output"],
  ["It ends abruptly.Another sentence begins", "abruptly", "sentence", "another", "abruptly.Another"],
  [
    "Call foo.bar_baz-qux/v2 with care",
    "foo.bar_baz-qux/v2",
    "foo",
    "bar",
    "baz",
    "qux",
    "v2",
    "bar_baz",
    '"bar baz"',
    "FOO.BAR_BAZ-QUX/V2",
  ],
  ["Runs on Node.js, C:\\Temp\\log.txt and AT&T lines", "Node.js", "node", "js", "temp", "log.txt", "AT&T"],
  ["Method parseXmlDocument of IOStreamReader", "parseXmlDocument", "parsexmldocument", "xml", "document", "stream"],
  ["Write to jane.doe@example.com or https://shop.example.org/a-b?c=d#e", "jane.doe@example.com", "jane", "shop"],
  ["Since 1.2.3 the price is 1,234.56 or 12:30h, call +49-30-90", "1.2.3", "1,234.56", "234", "12:30", "49"],
  ["The non‑breaking e‐mail and E-Mails", "breaking", "non-breaking", "e-mail", "mails"],
  ["La col·lecció d'or, l'·lustre", "col·lecció", "lustre"],
];

const WHERE = {
  "lc_ctype C": testDatabase,
  "lc_ctype C.UTF-8": async () => {
    const empty = await emptyDatabase(
      "template template0 encoding 'UTF8' locale_provider libc lc_collate 'C' lc_ctype 'C.UTF-8'",
    );
    await migrate(empty.url, MIGRATIONS);
    const database = openDatabase({ url: empty.url, poolSize: 5, applicationName: "test", onError: () => undefined });
    const close = async (): Promise<void> => {
      await database.close();
      await empty.drop();
    };
    return { database, url: empty.url, close };
  },
} satisfies Record<string, typeof testDatabase>;

describe.each(Object.entries(WHERE))("in a database of %s", (_, open) => {
  const own = ownKnowledge(open);
  let base: BuiltBase;

  beforeAll(async () => {
    base = await buildBase(own.database);
    for (const [at, [text]] of SENTENCES.entries()) await addResource(own, base, [text], { path: String(at) });
  });

  it("finds sentences of every script by each of their words and highlights the words", async () => {
    const missed: string[] = [];
    for (const [at, [text, ...queries]] of SENTENCES.entries()) {
      for (const query of queries) {
        const { results } = await ask(own, own.knowledge, base, { query, query_strategy: "keyword" });
        const found = results.find(({ resource_path }) => resource_path === String(at));
        if (found === undefined || !found.highlights?.length) missed.push(`${query} in ${text}`);
      }
    }
    expect(missed).toEqual([]);
  });
});
