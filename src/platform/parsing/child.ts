// Entry of the document parser's child process.
import { serveParser } from "./serve-parser.ts";

serveParser();
