-- Questions to people in runs.
create table run_pauses (
  pause_id            uuid primary key,
  run_id              uuid not null references runs on delete cascade,
  org_id              uuid not null,
  -- The workflow that waits: the run's own, or that of a slice of a large map.
  workflow_id         text not null,
  node_id             text not null,
  path                text not null,
  kind                text not null check (kind in ('approval', 'form', 'choice')),
  message             text not null,
  data                jsonb,
  form                jsonb,
  actions             jsonb not null,
  required_approvals  integer not null default 1 check (required_approvals > 0),
  received            jsonb not null default '[]',
  expires_at          timestamptz,
  on_timeout          text not null,
  status              text not null default 'waiting' check (status in ('waiting', 'resolved', 'expired', 'cancelled')),
  resolution          jsonb,
  created_at          timestamptz not null default now(),
  resolved_at         timestamptz,
  -- When the waiting workflow was seen to have taken the resolution; until then the sweeper repeats the signal.
  delivered_at        timestamptz,
  -- Who may answer a pause: {"users": [ids and e-mail addresses], "roles": []}; null: everybody who may resume runs.
  assignees           jsonb
);
create unique index run_pauses_path_key on run_pauses (run_id, path);
create index run_pauses_undelivered_idx on run_pauses (resolved_at) where status = 'resolved' and delivered_at is null;
-- What an organisation's people are asked, over all its runs.
create index run_pauses_org_idx on run_pauses (org_id, pause_id);
create index run_pauses_open_idx on run_pauses (org_id, pause_id) where status = 'waiting';
create index run_pauses_assigned_idx on run_pauses (org_id, pause_id) where assignees is not null;

-- What people read of a pause in the order in which it is written: jsonb sorts the members of objects, and record_run takes jsonb, so it is
-- given the texts too. Pauses of early versions have none.
create table run_pause_texts (
  pause_id  uuid primary key references run_pauses on delete cascade,
  org_id    uuid not null,
  data      json not null,
  form      json not null
);

-- The runs that show a pause of a sub-flow's run as one of their own: its parent, the parent of that, and so on.
create table run_shown_pauses (
  run_id    uuid not null references runs on delete cascade,
  pause_id  uuid not null references run_pauses on delete cascade,
  org_id    uuid not null,
  -- How far above the pause's own run: 1 is its parent.
  distance  integer not null check (distance > 0),
  -- Where the pause stands as seen from this run: "flow-0/approval-0".
  path      text not null,
  primary key (run_id, pause_id)
);
create index run_shown_pauses_pause_idx on run_shown_pauses (pause_id);
