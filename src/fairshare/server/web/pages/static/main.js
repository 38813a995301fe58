// The list of the views: the address of each, its word in the bar, its key after "g".
// `under` names the word that is marked for views that have none of their own.

import { Shell } from "./shell.js";

const VIEWS = [
  { name: "scheduler", path: "/cluster/scheduler", pattern: /^\/cluster\/scheduler\/?$/, nav: "Scheduler", key: "s",
    load: () => import("./views/scheduler.js") },
  { name: "applications", path: "/cluster/apps", pattern: /^\/cluster\/apps\/?$/, nav: "Applications", key: "a",
    load: () => import("./views/applications.js") },
  { name: "application", pattern: /^\/cluster\/app\/[^/]+\/?$/, under: "Applications",
    load: () => import("./views/application.js") },
  { name: "nodes", path: "/cluster/nodes", pattern: /^\/cluster\/nodes\/?$/, nav: "Nodes", key: "n",
    load: () => import("./views/nodes.js") },
  { name: "node", pattern: /^\/cluster\/node\/[^/]+\/?$/, under: "Nodes",
    load: () => import("./views/node.js") },
  { name: "users", path: "/cluster/users", pattern: /^\/cluster\/users\/?$/, nav: "Users", key: "u",
    load: () => import("./views/users.js") },
  { name: "board", path: "/cluster/board", pattern: /^\/cluster\/board\/?$/, under: "Users",
    load: () => import("./views/board.js") },
  { name: "ledger", path: "/cluster/ledger", pattern: /^\/cluster\/ledger\/?$/, under: "Scheduler",
    load: () => import("./views/ledger.js") },
  { name: "cron", path: "/cluster/cron", pattern: /^\/cluster\/cron\/?$/, nav: "Cron", key: "j",
    load: () => import("./views/cron.js") },
  { name: "bookings", path: "/cluster/bookings", pattern: /^\/cluster\/bookings\/?$/, nav: "Bookings", key: "b",
    load: () => import("./views/bookings.js") },
  { name: "configuration", path: "/cluster/configuration", pattern: /^\/cluster\/configuration\/?$/, nav: "Configuration", key: "c",
    load: () => import("./views/configuration.js") },
];

new Shell(VIEWS).start();
