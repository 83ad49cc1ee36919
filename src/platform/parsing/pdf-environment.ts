// Imported before pdfjs, for what pdfjs expects to find when it is loaded: the names of the canvas, which it would take
// from a native module (one more parser of hostile bytes) and which text does not need, and its worker, which runs in
// this thread. The network is not for documents.
import "pdfjs-dist/legacy/build/pdf.worker.mjs";

class Absent {}

Object.assign(globalThis, { DOMMatrix: Absent, ImageData: Absent, Path2D: Absent });
for (const name of ["fetch", "WebSocket", "EventSource"]) Reflect.deleteProperty(globalThis, name);
// It would warn that there is no canvas; what a process says at its end is looked at for reasons.
Reflect.set(console, "warn", () => undefined);
