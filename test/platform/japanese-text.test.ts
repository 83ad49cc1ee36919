import iconv from "iconv-lite";
import { expect, it } from "vitest";
import { japaneseEncoding } from "../../src/platform/parsing/japanese-text.ts";

const JAPANESE = "東京都の図書館は毎日午前九時に開きます。本を借りるにはカードが必要です。";

it.each([
  ["shift_jis", JAPANESE, "shift_jis"],
  ["shift_jis", "名前,住所\n田中,東京都\n", "shift_jis"],
  ["euc-jp", JAPANESE, "euc-jp"],
  // The same bytes as EUC-JP has, in other languages.
  ["gb18030", "图书馆每天上午九点开放。借书需要借书证。", null],
  ["euc-kr", "도서관은 매일 오전 아홉 시에 문을 엽니다. 책을 빌리려면 카드가 필요합니다.", null],
  ["big5", "圖書館每天上午九點開放。借書需要借書證。", null],
  // Letters with accents stand alone, or not for long.
  ["windows-1252", "It’s “so”, don’t you think? She’s away, isn’t she.", null],
  ["windows-1252", "She’s sure that it isn’t, and we’re sure they’ve gone.", null],
  ["windows-1252", "Die Häuser in dieser Straße, für Öfen und Übergröße, naïve café crème, Iñés créée.", null],
  ["windows-1251", "Библиотека открывается каждый день в девять часов утра.", null],
  ["windows-1250", "Zażółć gęślą jaźń, proszę państwa. Příliš žluťoučký kůň úpěl.", null],
  ["utf8", "plain", null],
])("tells %s of %j", (encoding, text, told) => {
  expect(japaneseEncoding(iconv.encode(text, encoding))).toBe(told);
});
