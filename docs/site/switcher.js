// The choice of a version in the sidebar. The pages of all versions load this file, so that older
// ones offer newer ones; VERSIONS, which versions.py writes before it, has the pages of each.
{
  const site = new URL("../", new URL(document.documentElement.dataset.content_root, location));
  const [current, ...rest] = location.pathname.slice(site.pathname.length).split("/");
  const page = rest.join("/") || "index.html";

  const select = document.createElement("select");
  for (const version of Object.keys(VERSIONS)) select.add(new Option(version));
  select.addEventListener("change", () => {
    const there = VERSIONS[select.value].includes(page) ? page : "index.html";
    location.assign(new URL(`${select.value}/${there}`, site));
  });
  // Again when a browser goes back to this page: it keeps what was chosen there.
  addEventListener("pageshow", () => {
    select.value = current;
  });

  const label = document.createElement("label");
  label.className = "versions";
  label.append("Version", select);
  document.currentScript.after(label);
}
