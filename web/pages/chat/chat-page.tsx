import { useQuery } from "@tanstack/react-query";
import { useMemo, useState, type JSX } from "react";
import { Link, useParams, useSearchParams } from "react-router";
import { useMay, useMe } from "../../api/accounts.ts";
import { conversationUser, type Target } from "../../api/conversations.ts";
import { newKey } from "../../api/intent.ts";
import { projectDraftOptions, projectOptions } from "../../api/projects.ts";
import { chatIoOptions } from "../../api/flow-io.ts";
import { toProblem } from "../../api/problem.ts";
import { chatFlow } from "../../flow/chat-flow.ts";
import { links } from "../../links.ts";
import { Icon } from "../../parts/icons.tsx";
import { PageHead } from "../../parts/page.tsx";
import { Empty, Failure, Loading } from "../../parts/states.tsx";
import { Missing } from "../missing-flow.tsx";
import { PassageDialog } from "../passage-dialog.tsx";
import { Conversation } from "./conversation.tsx";
import { Conversations } from "./conversations.tsx";
import { TargetSelect } from "./target-select.tsx";
import "./chat-page.css";

/** Conversations with a flow that takes and gives text. */
export function ChatPage(): JSX.Element {
  const { projectId = "", conversationId } = useParams();
  const [search, setSearch] = useSearchParams();
  const me = useMe();
  const mayRun = useMay("editor", projectId);
  const project = useQuery(projectOptions(projectId));
  const draft = useQuery({ ...projectDraftOptions(projectId), enabled: mayRun });
  const chosen = search.get("with");
  const target = useMemo<Target>(
    () => (chosen === "draft" ? { draft: true } : chosen === null ? {} : { environment: chosen }),
    [chosen],
  );
  const published = project.data?.published_version ?? null;
  const io = useQuery({
    ...chatIoOptions(projectId, target),
    enabled: project.data !== undefined && (chosen !== null || published !== null),
  });
  const flow = useMemo(() => io.data && chatFlow(io.data), [io.data]);
  const fresh = useFreshId(conversationId);
  const id = conversationId ?? fresh;
  const passage = search.get("passage");

  if (project.error) return <Missing error={project.error} />;
  if (!project.data) return <Loading what="the flow" />;
  const query = chosen === null ? {} : { with: chosen };
  return (
    <>
      <PageHead title={`${project.data.name} · Chat`}>
        {mayRun && (
          <TargetSelect
            projectId={projectId}
            published={published}
            hasDraft={draft.data != null}
            chosen={chosen}
            to={(next) => links.flowChat(projectId, undefined, next === null ? {} : { with: next })}
          />
        )}
        <Link className="button" to={links.flow(projectId)}>
          <Icon name="flows" /> Versions
        </Link>
      </PageHead>
      {io.error && <Failure fault={toProblem(io.error)} retry={() => void io.refetch()} />}
      {io.isFetching && !io.data && <Loading what="the chat" />}
      {chosen === null && published === null && (
        <Empty
          title="Not published yet"
          action={
            <Link className="button button-primary" to={links.flow(projectId)}>
              Versions
            </Link>
          }
        >
          The chat talks to the published version. Publish a version, or choose the draft above.
        </Empty>
      )}
      {typeof flow === "string" && (
        <Empty
          title="This flow is not a chat"
          action={
            <Link className="button" to={links.flowCall(projectId)}>
              Call it
            </Link>
          }
        >
          {flow} You can still call it.
        </Empty>
      )}
      {typeof flow === "object" && (
        <div className="chat-page">
          <Conversations projectId={projectId} user={me.id} current={conversationId ?? null} query={query} />
          <Conversation
            key={id}
            projectId={projectId}
            name={project.data.name}
            flow={flow}
            target={target}
            conversation={{ id, user_id: conversationUser(me.id, id), isNew: conversationId === undefined }}
            to={links.flowChat(projectId, id, query)}
            onPassage={(next) => setSearch((known) => ({ ...Object.fromEntries(known), passage: next }))}
            mayRun={mayRun}
          />
        </div>
      )}
      {passage !== null && (
        <PassageDialog
          place={passage}
          onClose={() =>
            setSearch((known) => {
              const next = new URLSearchParams(known);
              next.delete("passage");
              return next;
            })
          }
        />
      )}
    </>
  );
}

/**
 * The ID of the conversation that the next question begins. It stays when the page goes to the address of that conversation, so that
 * what is on the page stays too; a new one is made when the page leaves a conversation.
 */
function useFreshId(conversationId: string | undefined): string {
  const [{ fresh, at }, setKept] = useState(() => ({ fresh: newKey(), at: conversationId }));
  if (at !== conversationId) setKept({ fresh: conversationId === undefined ? newKey() : fresh, at: conversationId });
  return fresh;
}
