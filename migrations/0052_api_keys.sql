-- Connections of several keys that are sent together.
alter table connections drop constraint connections_scheme_check,
  add constraint connections_scheme_check
    check (scheme in ('none', 'api_key', 'api_keys', 'basic', 'bearer', 'oauth2_client_credentials'));
