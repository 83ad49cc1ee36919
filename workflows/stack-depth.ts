/**
 * Number of frames in stack traces inside workflows. For its stack trace query, the SDK takes a trace for every promise and translates each
 * frame through the bundle's source map. With the default of 10 frames this took a quarter of a short run's processor time, and with 2 a
 * third of that of a map over many items. One frame still shows where an error was thrown, and the query `position` reports what a run is
 * doing.
 */
const FRAMES = 1;

Error.stackTraceLimit = FRAMES;
