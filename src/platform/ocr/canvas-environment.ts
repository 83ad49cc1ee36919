// Imported before pdfjs where pages are drawn: its worker, which runs in this thread, and the names of the canvas that it looks
// for. What reaches the native canvas are paths and decoded pixels; files are parsed by pdfjs and in WebAssembly. The network
// is not for documents.
import { DOMMatrix, ImageData, Path2D } from "@napi-rs/canvas";
import "pdfjs-dist/legacy/build/pdf.worker.mjs";

Object.assign(globalThis, { DOMMatrix, ImageData, Path2D });
for (const name of ["fetch", "WebSocket", "EventSource"]) Reflect.deleteProperty(globalThis, name);
Reflect.set(console, "warn", () => undefined);
