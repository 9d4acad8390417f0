/**
 * What a script adds to pages that work without: live update, lists that answer in place, copy buttons, local times, keys.
 *
 * Runs in the browser before it paints the page (`blocking="render"`), so that nothing moves when times and buttons change;
 * `morph.js` (idiomorph) may come later. Every update fetches the page itself and morphs the old one into it, so
 * that scroll, focus, open details and what is being typed stay. Loads nothing but our own pages, keeps nothing in the
 * browser. Whatever fails leaves the page as it was.
 */
(() => {
  'use strict';
  const TYPING_MS = 250;
  const COPIED_MS = 1500;

  /** Like the UTC time that it replaces. By hand: a formatter of Intl takes a phone 50 ms to make. */
  function localTime(at) {
    const two = (number) => String(number).padStart(2, '0');
    const day = [at.getFullYear(), two(at.getMonth() + 1), two(at.getDate())].join('-');
    return `${day} ${[at.getHours(), at.getMinutes(), at.getSeconds()].map(two).join(':')}`;
  }

  /** Times in the zone of the reader, with UTC on hover; what needs a script appears. */
  function prepare(root) {
    for (const time of root.querySelectorAll('time[datetime]')) {
      const at = new Date(time.dateTime);
      if (time.title !== '' || Number.isNaN(at.getTime())) continue;
      time.title = time.textContent;
      time.textContent = localTime(at);
    }
    for (const one of root.querySelectorAll('[data-copy], [data-scripted]')) one.hidden = false;
  }

  const callbacks = {
    beforeNodeMorphed(old) {
      if (!(old instanceof Element)) return true;
      return !(old.hasAttribute('data-keep') || old.hasAttribute('data-touched'));
    },
    // The reader opens and closes details; an update does not.
    beforeAttributeUpdated: (name, node) => !(name === 'open' && node.tagName === 'DETAILS'),
  };

  function show(text) {
    const page = new DOMParser().parseFromString(text, 'text/html');
    prepare(page.body);
    document.title = page.title;
    Idiomorph.morph(document.body, page.body.innerHTML, {
      morphStyle: 'innerHTML',
      ignoreActiveValue: true,
      restoreFocus: true,
      callbacks,
    });
  }

  let latest = 0;
  /** Fetches a page and shows it; the last one asked for wins. Anything but a page of ours is opened as usual. */
  async function load(address, isAsked) {
    latest += 1;
    const mine = latest;
    const response = await fetch(address, { headers: { 'X-Live': '1' } });
    const isPage = (response.headers.get('content-type') ?? '').startsWith('text/html');
    if (!response.ok || response.redirected || !isPage) {
      if (isAsked || response.status === 401) location.assign(address);
      return;
    }
    const text = await response.text();
    if (mine === latest) show(text);
  }

  function swap(address) {
    history.pushState(null, '', address);
    load(address, true).catch(() => location.assign(address));
  }

  function addressOf(form) {
    const entries = Array.from(new FormData(form)).filter(([, value]) => value !== '');
    const query = new URLSearchParams(entries);
    return `${form.getAttribute('action')}?${query}`;
  }

  let typing = 0;
  function onInput(event) {
    const form = event.target.form;
    if (!form) return;
    form.setAttribute('data-touched', '');
    if (!form.hasAttribute('data-swap')) return;
    clearTimeout(typing);
    typing = setTimeout(() => {
      const address = addressOf(form);
      history.replaceState(null, '', address);
      load(address, false).catch(() => {});
    }, TYPING_MS);
  }

  function onSubmit(event) {
    if (!event.target.matches('form[data-swap]')) return;
    event.preventDefault();
    clearTimeout(typing);
    swap(addressOf(event.target));
  }

  function onClick(event) {
    const copy = event.target.closest('[data-copy]');
    if (copy) return void copyText(copy);
    const link = event.target.closest('a[data-swap]');
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    swap(link.href);
  }

  async function copyText(button) {
    const label = button.textContent;
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      button.textContent = 'Copied';
    } catch {
      // Without https there is no clipboard: the text is selected, and the reader copies it.
      const code = button.parentElement.querySelector('code');
      if (code) getSelection().selectAllChildren(code);
      button.textContent = 'Selected';
    }
    setTimeout(() => (button.textContent = label), COPIED_MS);
  }

  function onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest('input, textarea, select, [contenteditable]')) return;
    if (event.key === '/') {
      const field = document.querySelector('main input[name="q"], main [role="search"] input');
      if (!field) return;
      event.preventDefault();
      field.focus();
      field.select();
    } else if (event.key === 'n' || event.key === 'p') {
      document.querySelector(`main a[rel="${event.key === 'n' ? 'next' : 'prev'}"]`)?.click();
    }
  }

  let ticks = 0;
  function onSecond() {
    const seconds = Number(document.getElementById('page')?.dataset.live ?? 0);
    ticks += 1;
    if (!(seconds > 0) || document.hidden || ticks < seconds) return;
    ticks = 0;
    load(location.href, false).catch(() => {});
  }

  prepare(document);
  const here = new URL(location.href);
  if (here.searchParams.has('done')) {
    // Said once: neither a reload nor a live update says it again.
    for (const name of ['done', 'count']) here.searchParams.delete(name);
    history.replaceState(null, '', here);
  }
  document.addEventListener('input', onInput);
  document.addEventListener('submit', onSubmit);
  document.addEventListener('click', onClick);
  document.addEventListener('keydown', onKey);
  addEventListener('popstate', () => location.reload());
  setInterval(onSecond, 1000);
})();
