import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { useState, type JSX } from "react";
import { Link, NavLink, useNavigate } from "react-router";
import {
  conversationsOptions,
  deleteConversation,
  nameConversation,
  type Conversation,
} from "../../api/conversations.ts";
import { toProblem } from "../../api/problem.ts";
import { links } from "../../links.ts";
import { Confirm } from "../../parts/confirm.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Field } from "../../parts/field.tsx";
import { Icon } from "../../parts/icons.tsx";
import { Rows } from "../../parts/list/rows.tsx";
import { Failure } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";

const MAX_TITLE = 200;

/** The person's conversations with the flow. On a phone the list opens above the conversation. */
export function Conversations({
  projectId,
  user,
  current,
  query,
}: {
  readonly projectId: string;
  /** ID of the person, with which the user IDs of the conversations begin. */
  readonly user: string;
  /** ID of the conversation that is shown; null for a new one. */
  readonly current: string | null;
  /** Part of the address that stays. */
  readonly query: Record<string, string>;
}): JSX.Element {
  const list = useInfiniteQuery(conversationsOptions(projectId, user));
  const [isOpen, setOpen] = useState(false);
  const [changed, setChanged] = useState<readonly [Conversation, "rename" | "delete"] | null>(null);
  const navigate = useNavigate();
  const idOf = ({ user_id }: Conversation): string => user_id.slice(user.length + 1);
  return (
    <nav className={`chat-list ${isOpen ? "chat-list-open" : ""}`} aria-label="Conversations">
      <div className="row">
        <Link
          className="button chat-new"
          to={links.flowChat(projectId, undefined, query)}
          onClick={() => setOpen(false)}
        >
          <Icon name="plus" /> New conversation
        </Link>
        <button
          type="button"
          className="button chat-list-toggle"
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
        >
          <Icon name="menu" /> Conversations
        </button>
      </div>
      <div className="chat-list-rows">
        <Rows
          query={list}
          items="conversations"
          placeholder={3}
          isBare
          more="Older conversations"
          empty={{ title: "No conversations yet", text: "Ask something; the conversation appears here." }}
        >
          {(conversations) => (
            <ul>
              {conversations.map((each) => (
                <li key={each.conversation_id} className="chat-list-row">
                  <NavLink
                    to={links.flowChat(projectId, idOf(each), query)}
                    end
                    data-row
                    onClick={() => setOpen(false)}
                  >
                    <span className="chat-list-title">{nameOf(each)}</span>
                    <span className="small muted">
                      <Time at={each.updated_at} />
                    </span>
                  </NavLink>
                  <button
                    type="button"
                    className="button button-quiet button-small"
                    aria-label={`Rename ${nameOf(each)}`}
                    onClick={() => setChanged([each, "rename"])}
                  >
                    <Icon name="pencil" />
                  </button>
                  <button
                    type="button"
                    className="button button-quiet button-small"
                    aria-label={`Delete ${nameOf(each)}`}
                    onClick={() => setChanged([each, "delete"])}
                  >
                    <Icon name="cross" />
                  </button>
                </li>
              ))}
            </ul>
          )}
        </Rows>
      </div>
      {changed?.[1] === "rename" && (
        <Rename projectId={projectId} conversation={changed[0]} onClose={() => setChanged(null)} />
      )}
      {changed?.[1] === "delete" && (
        <Delete
          projectId={projectId}
          conversation={changed[0]}
          onClose={() => setChanged(null)}
          onDeleted={() => {
            if (idOf(changed[0]) === current) void navigate(links.flowChat(projectId, undefined, query));
          }}
        />
      )}
    </nav>
  );
}

const nameOf = ({ title }: Conversation): string => title ?? "Untitled";

interface DialogProps {
  readonly projectId: string;
  readonly conversation: Conversation;
  readonly onClose: () => void;
}

function Rename({ projectId, conversation, onClose }: DialogProps): JSX.Element {
  const [title, setTitle] = useState(conversation.title ?? "");
  const client = useQueryClient();
  const rename = useMutation({
    mutationFn: nameConversation,
    onSuccess: onClose,
    onSettled: () => client.invalidateQueries({ queryKey: ["conversations", "list"] }),
  });
  return (
    <Dialog title="Rename the conversation" onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (title.trim() !== "")
            rename.mutate({ project_id: projectId, user_id: conversation.user_id, title: title.trim() });
        }}
      >
        <Field label="Title">
          {(control) => (
            <input
              className="input"
              data-first
              maxLength={MAX_TITLE}
              value={title}
              onChange={(event) => setTitle(event.target.value)}
              {...control}
            />
          )}
        </Field>
        {rename.error && <Failure fault={toProblem(rename.error)} />}
        <div className="row">
          <button type="submit" className="button button-primary" disabled={rename.isPending || title.trim() === ""}>
            Rename
          </button>
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function Delete({
  projectId,
  conversation,
  onClose,
  onDeleted,
}: DialogProps & { readonly onDeleted: () => void }): JSX.Element {
  const client = useQueryClient();
  const remove = useMutation({
    mutationFn: deleteConversation,
    onSuccess: () => {
      onDeleted();
      onClose();
    },
    onSettled: () => client.invalidateQueries({ queryKey: ["conversations"] }),
  });
  return (
    <Confirm
      title={`Delete “${nameOf(conversation)}”?`}
      action="Delete conversation"
      fault={remove.error && toProblem(remove.error)}
      isPending={remove.isPending}
      onConfirm={() => remove.mutate({ project_id: projectId, user_id: conversation.user_id })}
      onClose={onClose}
    >
      Deletes its title, its documents and what the flow remembers of it. Its runs stay in the list of runs.
    </Confirm>
  );
}
