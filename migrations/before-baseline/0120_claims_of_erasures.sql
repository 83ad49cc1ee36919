-- Whoever works on an erasure writes only while the row has the claim: after a pause, another process may have it.
alter table erasures add column claim uuid;
