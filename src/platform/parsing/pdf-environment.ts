// Import this before pdfjs, because pdfjs expects it when it is loaded: the canvas names, which it would otherwise take from a native
// module (one more parser of hostile bytes) and which text does not need, and its worker, which runs in this thread. Documents have no
// network access.
import "pdfjs-dist/legacy/build/pdf.worker.mjs";

class Absent {}

Object.assign(globalThis, { DOMMatrix: Absent, ImageData: Absent, Path2D: Absent });
for (const name of ["fetch", "WebSocket", "EventSource"]) Reflect.deleteProperty(globalThis, name);
// The library warns about a missing canvas, and stderr is used to explain crashes, so silence it.
Reflect.set(console, "warn", () => undefined);
