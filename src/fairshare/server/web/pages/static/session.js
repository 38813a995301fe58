// The reader: the token, and what the server says that the reader may do.
//
//   token.value               the token, or ""; it lives as long as the browser's tab
//   session.current           null until known, then GET /api/v1/session:
//                             {user or null, proven, administrator, administers: [queue, ...]}
//   session.administersQueue("root.ml")      whether actions of administrators may be shown there
//   session.mayChange(application)           whether kill, move, priority may be shown
//   session.onChange(callback)
//
// This only decides what is shown: the server decides what is done.

const KEY = "fairshare.token";
const followers = new Set();

export const token = {
  get value() { try { return sessionStorage.getItem(KEY) ?? ""; } catch { return ""; } },
  set value(text) {
    try { if (text) sessionStorage.setItem(KEY, text); else sessionStorage.removeItem(KEY); }
    catch { /* without storage the token must be given again */ }
  },
};

export const session = {
  current: null,
  learn(answer) {
    if (JSON.stringify(answer) === JSON.stringify(session.current)) return;
    session.current = answer;
    for (const callback of [...followers]) callback(answer);
  },
  onChange(callback) { followers.add(callback); return () => followers.delete(callback); },
  administersQueue(queue) {
    const who = session.current;
    return Boolean(who) && (who.administrator || who.administers.some(
      (one) => queue === one || queue.startsWith(`${one}.`)));
  },
  mayChange(application) {
    const who = session.current;
    return Boolean(who)
      && (who.user === application.user || session.administersQueue(application.queue));
  },
};
