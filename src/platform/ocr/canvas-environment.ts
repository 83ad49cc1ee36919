// Import this before pdfjs where pages are drawn: it provides the worker, which runs in this thread, and the canvas names that pdfjs looks
// for. The native canvas gets only paths and decoded pixels; files are parsed by pdfjs and in WebAssembly. Documents have no network
// access.
import { DOMMatrix, ImageData, Path2D } from "@napi-rs/canvas";
import "pdfjs-dist/legacy/build/pdf.worker.mjs";

Object.assign(globalThis, { DOMMatrix, ImageData, Path2D });
for (const name of ["fetch", "WebSocket", "EventSource"]) Reflect.deleteProperty(globalThis, name);
Reflect.set(console, "warn", () => undefined);
