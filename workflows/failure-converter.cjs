// How failures become payloads: their messages and stack traces are encoded, so that the codec encrypts them too. The SDK loads
// this file by its path, in processes and into the bundle of the workflows, which is why it is plain CommonJS.
const { DefaultFailureConverter } = require("@temporalio/common");

exports.failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true });
