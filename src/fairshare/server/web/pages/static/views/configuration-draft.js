// A staged change: the text that a reader has made of the scheduler's
// file, in this tab of the browser, and what the server says about it.
//
//   draft.base, draft.digest     what the change was begun from, and the digest of the file then
//   draft.text, draft.staged     the text now; whether it differs
//   draft.judged                 {entries, problems, usable} of draft.text, null while it is asked
//   await draft.edit([...])      changes of values and queues; throws a Fault
//   draft.write(text)            another text
//   draft.begin(document)        nothing is staged; the next change is one of this document
//   draft.behind(document)       whether something else is in force since it was begun

import { store } from "../store.js";

const KEY = "fairshare.draft";
const PAUSE_MS = 400;

export class Draft {
  constructor(changed) {
    this.changed = changed;
    this.kept = null;
    this.judged = null;
    this.fault = null;
    this.turn = 0; // of questions to the server: only the answer to the last one counts
    this.drafts = 0; // begun so far: a change that waits goes with the draft that it is for
    try { this.kept = JSON.parse(sessionStorage.getItem(KEY)); } catch { this.kept = null; }
  }

  // The document in force is known; a change of another file is no change of this one.
  learn(found) {
    this.document = found;
    if (this.kept && this.kept.file === found.file && this.kept.text !== this.kept.base) {
      if (!this.judged && !this.asking) this.judge();
      return;
    }
    const same = this.kept?.text === found.text && this.kept?.digest === found.digest;
    this.kept = { file: found.file, base: found.text, digest: found.digest, version: found.version, text: found.text };
    if (!same) this.save();
    this.judged = found.judgement;
  }

  get base() { return this.kept?.base ?? ""; }
  get text() { return this.kept?.text ?? ""; }
  get digest() { return this.kept?.digest ?? ""; }
  get staged() { return Boolean(this.kept) && this.kept.text !== this.kept.base; }
  get version() { return this.kept?.version ?? 0; }

  behind(found) { return this.staged && (found.text !== this.kept.base || found.digest !== this.kept.digest); }

  // The staged text stays, and is compared from now on with what is in force.
  catchUp() { Object.assign(this.kept, { base: this.document.text, digest: this.document.digest, version: this.document.version }); this.save(); this.changed(); }

  discard() { this.begin(this.document); }

  // Nothing is staged any more: the next change is one of `found`, the document in force.
  begin(found) {
    this.kept = null;
    this.judged = null;
    this.fault = null;
    this.turn += 1;
    this.drafts += 1;
    this.learn(found);
    this.save();
    this.changed();
  }

  save() { try { sessionStorage.setItem(KEY, JSON.stringify(this.kept)); } catch { /* it lives as long as this view */ } }

  // One after another: each change is made in the text that the one before left.
  edit(edits) {
    const drafts = this.drafts;
    const before = this.editing;
    this.editing = (async () => {
      await before?.catch(() => {});
      if (drafts === this.drafts) await this.ask(edits);
    })();
    return this.editing;
  }

  async ask(edits) {
    const turn = (this.turn += 1);
    const judged = await store.send("/configuration/draft", { text: this.text, edits });
    if (turn !== this.turn) return;
    this.kept.text = judged.text;
    this.judged = judged;
    this.fault = null;
    this.save();
    this.changed();
  }

  write(text) {
    if (text === this.kept.text) return;
    this.kept.text = text;
    this.save();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.judge(), PAUSE_MS);
    this.changed();
  }

  async judge() {
    const turn = (this.turn += 1);
    this.asking = true;
    try {
      const judged = await store.send("/configuration/draft", { text: this.text });
      if (turn === this.turn) { this.judged = judged; this.fault = null; }
    } catch (fault) {
      if (turn === this.turn) this.fault = fault;
    }
    this.asking = false;
    if (turn === this.turn) this.changed();
  }
}
