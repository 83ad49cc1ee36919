import iconv from "iconv-lite";
import { expect, it } from "vitest";
import { decodeBytes, decodeText } from "../../src/platform/parsing/decode-text.ts";
import { CHARSET_ROWS } from "../support/charsets.ts";

it.each([
  ["gbk", "图书馆每天上午九点开放。借书需要借书证。"],
  ["gbk", "姓名,地址\n张三,北京\n"],
  ["gbk", "合同编号：2024-001，甲方应在收到货物后三十日内付款。"],
  ["gb18030", "The annex is in English.\n".repeat(3000) + "合同编号：甲方应在收到货物后付款。"],
  ["big5", "圖書館每天上午九點開放。借書需要借書證。"],
  ["euc-kr", "도서관은 매일 오전 아홉 시에 문을 엽니다. 책을 빌리려면 카드가 필요합니다."],
  ["euc-kr", "이름,주소\n김철수,서울\n"],
  ["shift_jis", "東京都の図書館は毎日午前九時に開きます。本を借りるにはカードが必要です。"],
  ["shift_jis", "名前,住所\n田中,東京都\n"],
  ["euc-jp", "東京都の図書館は毎日午前九時に開きます。本を借りるにはカードが必要です。"],
  ["windows-1251", "Библиотека открывается каждый день в девять часов утра."],
  ["windows-1251", "Договор № 15 от 3 марта"],
  ["koi8-r", "Библиотека открывается каждый день в девять часов утра."],
  ["cp866", "Библиотека открывается каждый день в девять часов утра."],
  ["windows-1250", "Umowa obowiązuje przez dwanaście miesięcy od dnia podpisania."],
  ["windows-1253", "Η βιβλιοθήκη ανοίγει κάθε μέρα στις εννέα το πρωί."],
  ["windows-1254", "Kütüphane her gün sabah dokuzda açılır. İstanbul ışığı."],
  ["windows-1255", "הספרייה נפתחת בכל יום בתשע בבוקר."],
  ["windows-1256", "تفتح المكتبة كل يوم في الساعة التاسعة صباحا."],
  ["windows-874", "ห้องสมุดเปิดทุกวันเวลาเก้าโมงเช้า"],
  ["windows-1252", "It’s “so”, don’t you think? She’s away, isn’t she."],
  ["windows-1252", "She’s sure that it isn’t, and we’re sure they’ve gone."],
  ["windows-1252", "Die Häuser in dieser Straße, für Öfen und Übergröße, naïve café crème, Iñés créée."],
  ["windows-1252", "Price: 5 €"],
  ["windows-1252", "café"],
  ["windows-1252", "Øl på Åland, smørrebrød og ærø"],
  ["windows-1252", "Ação, coração, não há informações suficientes à disposição."],
  ["utf-16le", "Договор от третьего марта\nСрок: 12 месяцев"],
  ["utf-16be", "Η βιβλιοθήκη ανοίγει κάθε μέρα."],
  ["utf-16le", "合同编号：甲方应在收到货物后三十日内付款。\n第二条"],
  ["utf-16be", "図書館は毎日午前九時に開きます。"],
  ["utf-16le", "도서관은 매일 아홉 시에 문을 엽니다."],
  ["utf-16le", "هذا العقد ساري المفعول لمدة سنة"],
  ["utf-16be", "plain English text"],
])("reads %s without a declared charset: %j", (encoding, text) => {
  expect(decodeBytes(iconv.encode(text, encoding), null)).toBe(text);
});

it.each(CHARSET_ROWS)("reads bytes in %s", (_, bytes, charset, text) => {
  expect(decodeBytes(bytes, charset)).toBe(text);
});

it("reports an encoding that cannot be guessed, and keeps a text with a stray NUL", () => {
  const mac = Buffer.from(Array.from({ length: 600 }, (_, i) => [0x8d, 0x9d, 0xb6, 0x20, 0xf0, 0x81][i % 6] ?? 0));
  expect(() => decodeText(mac, null)).toThrow(expect.objectContaining({ code: "charset_unknown" }));
  expect(decodeText(Buffer.from("The rent is\0 due in May."), null)).toBe("The rent is\0 due in May.");
  expect(() => decodeText(Buffer.from(Array.from({ length: 600 }, (_, i) => (i * 7919) % 251)), null)).toThrow(
    expect.objectContaining({ code: "document_broken" }),
  );
});
