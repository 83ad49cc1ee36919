/**
 * Frames of the stack traces inside workflows. The SDK takes one for every promise a workflow makes (for its stack trace
 * query) and translates each frame through the bundle's source map: with the default of 10 frames that was a quarter of
 * a short run's processor time, and with 2 a third of a map's over many items. One frame says where an error was
 * thrown. The query `position` reports what a run is doing.
 */
const FRAMES = 1;

Error.stackTraceLimit = FRAMES;
