-- What others ask for while somebody attacks.
create table cheap on select get from 'http://{config.cheap}/cheap?id={^id}';

-- Rows, as many as asked for, with keys of a kind.
create table rows on select get from 'http://{config.upstream}/rows?n={^n}&kind={kind}';

-- Answers of ten million bytes, and worse ones.
create table large on select get from 'http://{config.upstream}/large?what={^what}';

-- Heads and bodies that drip.
create table dripping on select get from 'http://{config.upstream}/drip-{^what}';

-- An answer that leads to another host.
create table moved on select get from 'http://{config.upstream}/moved';

-- A token in a path.
create table items on select get from 'http://{config.upstream}/items/{^id}/price';

-- This server.
create table self on select get from 'http://{config.self}/loop?n={n}';

-- Counted, whatever is asked.
create table counted on select get from 'http://{config.upstream}/counted?n={n}';

-- A text of the script in an address, in a header, in bodies.
create table addressed on select get from 'http://{config.upstream}/addressed?text={^text}';
create table headed on select get from 'http://{config.upstream}/headed' using headers 'x-text' = '{text}';
create table posted on insert post to 'http://{config.upstream}/posted'
  using bodyTemplate 'posted.mu' type 'application/json';
create table written on insert post to 'http://{config.upstream}/written' using request format 'json';

-- Hooks that do not end.
create table spinning on select get from 'http://{config.upstream}/spinning?n={n}' using patch 'spin.js';
