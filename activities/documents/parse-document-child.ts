// Entry of the document parser's child process.
import { serveParser } from "../../src/platform/parsing/serve-parser.ts";
import { htmlToText } from "./html-text.ts";

serveParser({ htmlToText });
