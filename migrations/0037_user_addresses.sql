-- An e-mail address is unique within its organisation only: a refusal told an admin of one who is a user of another.
-- Addresses are ASCII, and only ASCII letters are folded: other rules make one letter of another (İ of i, say).
drop index users_email_key;
create unique index users_email_key on users (lower(email collate "C"), org_id);
-- Of several users with the same address and password, the one whose password is newest is signed in.
alter table users add column password_set_at timestamptz not null default now();
