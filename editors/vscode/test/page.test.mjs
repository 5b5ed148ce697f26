// What an API answered is shown as text, whatever it is.

import assert from 'node:assert/strict';
import test from 'node:test';

import { page } from '../src/page.mjs';

test('nothing of an answer runs', () => {
  const html = page('a <b>', '</pre><script>alert(1)</script><img src=x onerror=y>', '"note"');
  assert.ok(!/<script|<img|<b>/.test(html), html);
  assert.match(html, /default-src 'none'/);
  assert.match(html, /&quot;note&quot;/);
});

test('a large answer is cut, and says so', () => {
  const html = page('a', 'x'.repeat(2_000_010), '');
  assert.match(html, /10 more characters are not shown/);
  assert.ok(html.length < 2_010_000);
});
