/**
 * What somebody can do about an error of a run, by its code. A code without a line has nothing to say that its message does not. No line
 * quotes values: hints are for everybody who may read the error.
 */
const HINTS: Readonly<Record<string, string>> = {
  action_not_found: "The provider was changed after the flow: name an action that it has, and deploy the flow anew.",
  action_refused: "The service refused the request: look at its inputs, and at what its connection may do.",
  action_timeout: "The service did not answer in time: run it again, or raise the node's timeout_ms.",
  budget_exceeded: "Raise settings.max_cost_usd of the flow, or use a cheaper model.",
  code_failed: "The script threw an error: look at the node's inputs, and mend its source.",
  code_memory: "Give the script less at once, for example item by item in a map.",
  code_output_invalid: "Let main return what JSON can hold, and not too much of it.",
  code_timeout: "Let the script do less, or raise the node's timeout_ms.",
  connection_disabled: "Enable the connection, or choose another one in the flow.",
  connection_not_found: "The connection was deleted: choose another one in the flow, and deploy it anew.",
  connection_of_another_provider: "Choose a connection of the provider whose action the node runs.",
  connection_required: "Make a connection of the provider, and name it in the node.",
  connection_unreadable: "Enter the connection's credential again: it was sealed under a key that is not there.",
  document_lost: "Upload the document again.",
  documents_missing: "Upload the documents that the node reads before the run is started.",
  expression_failed: "Look at the values that the expression reads: has() asks whether one is there.",
  expression_too_costly: "Let the expression look at less, for example item by item in a map.",
  file_not_found: "Upload the file again: it was removed.",
  file_too_large: "Upload a smaller file, or split it.",
  guard_failed: "The flow itself has refused this: look at the inputs that its guard checks.",
  http_failed: "The server was not reached: look at the address, then run it again.",
  http_refused:
    "The message says what keeps the request from being sent: mend the address or the header, or ask who operates the installation to allow the host.",
  http_status: "The server did not do what it was asked: its answer says why.",
  internal_error: "Run it again. If it fails again, give the run's id to who operates the installation.",
  invalid_action_inputs: "Look at the inputs that the node makes: the action's schema says what it takes.",
  invalid_images: "Give the node pictures of a type and size that it takes.",
  invalid_query: "Look at the node's query and filter, and at the values put into them.",
  items_not_a_list: "Let the expression `items` of the map give a list.",
  knowledge_base_not_found: "The knowledge base was deleted: choose another one in the flow, and deploy it anew.",
  mcp_error: "The MCP server refused the call: look at its inputs, and at the server's log.",
  model_answer_empty: "Run it again, or raise max_tokens of the node: models that reason need more.",
  model_answer_invalid: "Describe in the prompt what the answer has to look like, or use another model.",
  model_declined: "The model does not answer this: change the prompt, or use another model.",
  model_not_configured: "Choose a connection and a model in the node, or a default in Settings.",
  node_timeout: "Raise the node's timeout_ms, or give it less to do at once.",
  outcome_unknown: "Look in the other service whether it was done, before it is run again.",
  pause_expired: "Nobody has answered in time: run it again, or give people longer.",
  quota_exceeded: "Wait until the quota begins anew, or ask who operates the installation to raise it.",
  robots_forbidden: "The site does not want to be read by programs: ask its owner, or use another source.",
  run_timeout: "Go on from the node it was at, with a longer timeout_seconds.",
  skill_file_not_found: "Publish a version of the skill that has the file, or name another one.",
  skill_not_found: "The skill was deleted: choose another one in the flow, and deploy it anew.",
  subflow_inputs_invalid: "Look at the inputs that the node gives to the sub-flow, and at what that takes.",
  subflow_not_found: "The project of the sub-flow was deleted or has no published version.",
  template_failed: "Look at the values that the template reads: `default` is for values that may be missing.",
  unsupported_content_type: "Use an address that answers a page, a text or a document.",
  unsupported_type: "Use a file of a type that the node reads.",
  upstream_failed: "The other service failed: run it again later.",
  value_too_deep: "Let the node give a value that is less deeply nested.",
  value_too_large: "Let the node give less, or work item by item in a map.",
  worker_lost: "The node ended its worker again and again: give it less at once.",
  workflow_lost: "Temporal has lost the run: go on from where it was.",
};

/** How to fix a refusal, by its status: the caller can fix only some of them. */
function hintOfStatus(status: number): string {
  switch (status) {
    case 400:
    case 422:
      return "The server does not take what it was sent: read its answer, and look at the node's inputs.";
    case 401:
    case 403:
      return "The server refused the credential: look whether it is right, still holds, and may do this.";
    case 404:
    case 410:
      return "There is nothing at the address: look at it, and at the values put into it.";
    case 408:
    case 425:
      return "The server was not ready in time: run it again later, or give the node retries.";
    case 409:
    case 412:
      return "What the request is about has changed on the server, or is there already: read its answer.";
    case 429:
      return "The server wants fewer requests: run it again later, or give the node retries with longer waits between them.";
    default:
  }
  if (status >= 500)
    return "The fault is the server's: look whether it is up, then run it again, or give the node retries.";
  return status >= 400
    ? "The server refused the request: read its answer, and look at the address and the inputs."
    : "The server did not answer with what the node expects: look at the address.";
}

/**
 * How to fix an error; null if its message says enough. `status` is that of the other side's answer, if there was
 * one.
 */
export function hintOf(code: string, status?: number): string | null {
  if (code === "http_status" && status !== undefined) return hintOfStatus(status);
  return Object.hasOwn(HINTS, code) ? (HINTS[code] ?? null) : null;
}

/** The codes that have a hint. */
export const HINTED_CODES: readonly string[] = Object.keys(HINTS);
