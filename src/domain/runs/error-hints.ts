/**
 * Advice for errors of a run, by error code. Codes whose message is enough are omitted. Hints never quote values, because every reader of
 * the error sees them.
 */
const HINTS: Readonly<Record<string, string>> = {
  action_not_found: "The provider no longer has this action. Choose another action and deploy the flow again.",
  action_refused: "The service rejected the request. Check the inputs and the connection's permissions.",
  action_timeout: "The service did not respond in time. Rerun, or raise the node's timeout_ms.",
  budget_exceeded: "Raise settings.max_cost_usd of the flow, or use a cheaper model.",
  code_failed: "The script threw an error. Check the node's inputs and fix its source.",
  code_memory: "Process less data per call, for example with a map node.",
  code_output_invalid: "Change main to return a value that JSON can represent, or return less data.",
  code_timeout: "Reduce the work, or raise the node's timeout_ms.",
  connection_disabled: "Enable the connection, or choose another connection in the flow.",
  connection_not_found: "The connection was deleted. Choose another connection and deploy the flow again.",
  connection_of_another_provider: "Choose a connection of the provider whose action the node runs.",
  connection_required: "Create a connection for the provider and set it in the node.",
  connection_unreadable:
    "Enter the connection's credential again: it was encrypted with a master key that is no longer configured.",
  document_lost: "Upload the document again.",
  documents_missing: "Upload the documents this node reads, then start the run.",
  expression_failed: "Check the values the expression reads. Use has() to test whether a value exists.",
  expression_too_costly: "Reduce the data the expression reads, for example with a map node.",
  file_not_found: "The file was deleted. Upload it again.",
  file_too_large: "Upload a smaller file, or split it.",
  guard_failed: "A guard in the flow rejected the run. Check the inputs it tests.",
  http_failed: "The server could not be reached. Check the URL, then rerun.",
  http_refused:
    "The message says why the request was not sent. Correct the URL or the header, or ask the operator to allow the host.",
  http_status: "The server returned an error. See its response.",
  internal_error: "Rerun it. If it fails again, send the run ID to the operator.",
  invalid_action_inputs: "Check the node's inputs against the action's input schema.",
  invalid_images: "Send images of a supported type and size.",
  invalid_query: "Check the node's query and filter, and the values inserted into them.",
  items_not_a_list: "Change the map's items expression to return a list.",
  knowledge_base_not_found: "The knowledge base was deleted. Choose another knowledge base and deploy the flow again.",
  mcp_error: "The MCP server rejected the call. Check its inputs and the server's log.",
  model_answer_cut: "Raise the node's max_tokens, or ask for a shorter answer. Reasoning models need more.",
  model_answer_empty: "Rerun it, or raise the node's max_tokens. Reasoning models need more.",
  model_answer_invalid: "Describe the required format of the answer in the prompt, or use another model.",
  model_declined: "The model declined to answer. Change the prompt, or use another model.",
  model_not_configured: "Choose a connection and a model in the node, or set a default in Settings.",
  node_timeout: "Raise the node's timeout_ms, or give the node less data.",
  not_found_or_not_allowed:
    "Check the ID. If it is correct, ask a user who may run that project's flow, or read its run, to deploy this flow.",
  outcome_unknown: "Check in the other service whether the action took effect before you rerun.",
  pause_expired: "No one answered in time. Rerun, or raise expires_in_seconds.",
  quota_exceeded: "Wait until the quota resets, or ask the operator to raise it.",
  robots_forbidden: "The site's robots.txt forbids crawling. Ask its owner or use another source.",
  run_timeout:
    "Start a new run with a larger timeout_seconds, or raise settings.timeout_seconds in the flow. A resumed run keeps the old limit.",
  skill_file_not_found: "Publish a version of the skill that has the file, or choose another file.",
  skill_not_found: "The skill was deleted. Choose another skill and deploy the flow again.",
  subflow_inputs_invalid:
    "Check the inputs that the node passes to the subflow against the inputs that the subflow declares.",
  subflow_not_found:
    "The project was deleted, has no published version, or cannot be run by the user who deployed this flow. Ask an editor of that project to deploy this flow.",
  template_failed: "Check the values the template reads. Use the filter `default` for values that may be missing.",
  tool_call_cut: "Raise the node's max_tokens. The model's answer ended inside the tool call, so no tool was called.",
  unsupported_content_type: "Use a URL that returns a page, text or a document.",
  unsupported_type: "Use a file of a type that the node reads.",
  upstream_failed: "The other service failed. Rerun later.",
  value_too_deep: "Return a value that is less deeply nested.",
  value_too_large: "Return less data, or process items in a map node.",
  worker_lost: "The node crashed its worker repeatedly. Give it less data.",
  workflow_lost: "Temporal lost this run's workflow. Resume the run.",
};

/** Advice for a rejected request, by its HTTP status. The caller can fix only some of them. */
const STATUS_HINTS: ReadonlyArray<readonly [statuses: readonly number[], hint: string]> = [
  [[400, 422], "The server rejected the request. See its response and check the node's inputs."],
  [[401, 403], "The server rejected the credential. Check that it is correct, not expired, and has permission."],
  [[404, 410], "Nothing exists at this URL. Check the URL and the values in it."],
  [[408, 425], "The server did not respond in time. Rerun later, or add retries to the node."],
  [[409, 412], "The resource has changed on the server, or already exists. See the server's response."],
  [[429], "The server is rate limiting. Retry later, or add retries with longer waits to the node."],
];

function hintOfStatus(status: number): string {
  const known = STATUS_HINTS.find(([statuses]) => statuses.includes(status));
  if (known !== undefined) return known[1];
  if (status >= 500) return "The server failed. Check that it is running, then rerun, or add retries to the node.";
  return status >= 400
    ? "The server rejected the request. See its response and check the URL and the inputs."
    : "The response was not what the node expects. Check the URL.";
}

/** How to fix an error; null if its message says enough. `status` is the HTTP status of the other service's response, if there was one. */
export function hintOf(code: string, status?: number): string | null {
  if (code === "http_status" && status !== undefined) return hintOfStatus(status);
  return Object.hasOwn(HINTS, code) ? (HINTS[code] ?? null) : null;
}

export const HINTED_CODES: readonly string[] = Object.keys(HINTS);
