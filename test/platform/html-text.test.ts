import { describe, expect, it } from "vitest";
import { scanHtml } from "../../src/platform/parsing/html-scan.ts";
import { htmlToText } from "../../src/platform/parsing/html-text.ts";

const PARAGRAPH =
  "Water drives the wheel, the wheel drives the stones, and the stones grind the grain, which is how a mill of this kind has worked for a thousand years. ";

describe("the text of a page", () => {
  it("is its article, without navigation, scripts and styles", () => {
    const { title, text } =
      htmlToText(`<!doctype html><html><head><title>Mills &amp; races</title><style>p{color:red}</style>
      <script>var secret = "script text";</script></head><body><nav><ul><li><a href="/">Home</a><li><a href="/x">Shop now</a></ul></nav>
      <article><h1>How a mill works</h1><p>${PARAGRAPH.repeat(3)}</p><p>${PARAGRAPH.repeat(3)}</p></article>
      <footer><a href="/imprint">Imprint</a></footer></body></html>`);
    expect(title).toBe("Mills & races");
    expect(text).toContain("grind the grain");
    expect(text.split("\n").length).toBeGreaterThan(1);
    expect(text).not.toMatch(/script text|color:red|Shop now|Imprint/);
  });

  it("includes the whole body if there is no article", () => {
    const { title, text } = htmlToText(
      "<h1>Price list</h1><ul><li>Flour<li>Bran</ul><table><tr><td>a<td>b</tr><tr><td>c</table>",
    );
    expect(title).toBeNull();
    expect(text).toBe("Price list\nFlour\nBran\na\tb\nc");
  });

  it.each(["", "   ", "<html></html>", "<!-- only a comment -->"])("is empty for %j", (html) => {
    expect(htmlToText(html)).toEqual({ title: null, properties: {}, text: "", headings: [] });
  });

  it("omits invisible text, with and without an article", () => {
    const hidden = `<p hidden>Unseen one.</p><div style="display:none"><p>Unseen two, ${PARAGRAPH}</p></div>`;
    const article = `<article><h1>Mills</h1><p>${PARAGRAPH.repeat(3)}</p>${hidden}<p>${PARAGRAPH.repeat(3)}</p></article>`;
    for (const page of [article, `<p>Short. grind</p>${hidden}`]) {
      const { text } = htmlToText(`<html><body>${page}</body></html>`);
      expect(text).toContain("grind");
      expect(text).not.toContain("Unseen");
    }
  });

  it("ignores script in the title and does not render template marks", () => {
    expect(htmlToText("<title><script>x</script></title><p>a</p>").text).toBe("a");
    expect(htmlToText("{{7*7}} <p>{{ nodes }}</p>").text).toBe("{{7*7}}\n{{ nodes }}");
  });
});

describe("scanHtml", () => {
  it.each([
    ["a<b>b</b>c", "abc"],
    ["<p>one</p><p>two</p>", "one\ntwo"],
    ["a <b> b </b> c", "a b c"],
    ["one<br>two<br/>three", "one\ntwo\nthree"],
    ["<pre>a\n  b</pre>", "a\n  b"],
    ["1 < 2 && 3 > 2", "1 < 2 && 3 > 2"],
    [
      "市の<ruby>図<rt>と</rt></ruby><ruby>書<rt>しょ<rt></ruby><ruby>館<rp>(</rp><rt>かん</rt><rp>)</rp></ruby>へ",
      "市の図書館(としょかん)へ",
    ],
    ["<p><ruby>漢<rt>かん</rt>字<rt>じ</rt></ruby></p><p>b</p>", "漢字(かんじ)\nb"],
    ["<ruby><rb>東<rb>京<rtc><rt>とう<rt>きょう</rtc></ruby>", "東京(とうきょう)"],
    ["<h1><ruby>市<rt>し</rt></ruby></h1>a", "市(し)\na"],
    [
      "a<img alt='A mill &amp; a river' src=x>b<img alt=''><img hidden alt=no><p hidden><img alt=no></p>",
      "a A mill & a river b",
    ],
    ["x <math alttext='a/b'><mi>a</mi></math> y", "x a/b y"],
    [
      "&lt;b&gt; &amp;amp; &#65;&#x42;&#0;&#xd800; &eacute;&nbsp;&unknown; &hellip;",
      "<b> &amp; AB\ufffd\ufffd é &unknown; …",
    ],
    ['<a title="a > b" href=x>link</a>', "link"],
    ["<a title=it's>link</a> it's", "link it's"],
    ["<script>if (a < b) '</p>'</script>text", "text"],
    ["<SCRIPT>x</ScRiPt >text", "text"],
    ["<style>a</style><svg><text>b</text></svg><template>c</template>d", "d"],
    ["<!-- <p>a</p> -->b<!doctype html><?xml version='1.0'?>c", "bc"],
    ["a<p hidden>b<b>c</b></p>d", "a\nd"],
    ['a<div style="color: red; DISPLAY : none !important">b<div>c</div><p>d</div>e', "a\ne"],
    ["a<span style=visibility:hidden>b</span>c", "ac"],
    ["<p hidden>a<div>b</div>", "b"],
    ["<ul><li hidden>a<li>b</ul>", "b"],
    ["a<input type=hidden value=x><br hidden>b", "a\nb"],
    ['<p data-x="hidden" class="display:none">a</p>', "a"],
    ["<p hidden=until-found>a</p>", "a"],
    ["<body hidden style='display:none'><p>a</p></body>", "a"],
    ["Luk&aacute;&scaron; &le; &lt &notanentity; &#x1f600;", "Lukáš ≤ < ¬anentity; 😀"],
    ["<script/>a<svg/>b<title/>c", "ab\nc"],
    ["<iframe><p>a</p><iframe/></iframe>b", "b"],
    ["<p a='1' hidden hidden=until-found>a</p>b", "b"],
    ["<p style='color:red' style='display:none'>a</p>", "a"],
    ["<p style='&#100;isplay:none'>a</p>b", "b"],
    ["cut <b", "cut"],
    ["cut <a title='", "cut"],
    ["cut <!-- ", "cut"],
  ])("reads %j as %j", (html, text) => {
    expect(scanHtml(html).text).toBe(text);
  });

  it("takes the first title that is not empty", () => {
    const { title, text } = scanHtml(
      "<svg><title>Icon</title></svg><title> </title><title>One\n&amp; <b>two</title><title>x</title>a",
    );
    expect({ title, text }).toEqual({ title: "One & <b>two", text: "a" });
  });

  it("counts elements and nesting as a parser would build them", () => {
    expect(scanHtml("<ul><li>a<li>b<li>c</ul><p>a<p>b<br><img>")).toMatchObject({ elements: 8, depth: 2 });
    expect(scanHtml("<div>".repeat(100) + "</div>".repeat(100))).toMatchObject({ elements: 100, depth: 100 });
  });
});

describe("zip-bomb: a hostile page takes time linear in its length", () => {
  const long = `<p>${PARAGRAPH.repeat(2)}</p>`;
  it.each([
    ["deeply nested", "<div>".repeat(400_000)],
    ["never closed", "<p>a<b>".repeat(200_000)],
    ["open quotes", '<a b="'.repeat(200_000)],
    ["open comments", "<!--".repeat(300_000)],
    ["open scripts", "<script>".repeat(200_000)],
    ["many small scripts", "<script></script>".repeat(100_000)],
    ["marks only", "<".repeat(250_000)],
    ["ampersands only", "&".repeat(1_000_000)],
    ["blanks only", " \n".repeat(1_000_000)],
    ["as wide as an article may be", long.repeat(5000)],
    ["as deep as an article may be", ("<div>".repeat(200) + long.repeat(40) + "</div>".repeat(200)).repeat(20)],
    ["a list in a list", "<ul><li>".repeat(100_000)],
    ["deeply nested, and closed", "<div>".repeat(200_000) + "</div>".repeat(200_000)],
    ["deeply nested, and closed by tags that nothing opened", "<div>".repeat(200_000) + "</p></x>".repeat(200_000)],
    ["a tag of attributes", `<p ${"a=b ".repeat(500_000)}>`],
    [
      "a tag of attributes with names of their own",
      `<p ${Array.from({ length: 200_000 }, (_, n) => `a${n}=b`).join(" ")}>`,
    ],
    ["an attribute of references", `<p style="${"&amp;".repeat(500_000)}">`],
    ["a title of references", `<title>${"&amp;".repeat(500_000)}`],
  ])("%s", (_name, html) => {
    const started = performance.now();
    htmlToText(html);
    // A superlinear parser would take minutes, and a linear one takes seconds even on a busy machine.
    expect(performance.now() - started).toBeLessThan(25_000);
  });
});
