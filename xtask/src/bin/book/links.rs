//! Links of the built pages: each leads to a file that is there, and to a place in it that has the name.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result};
use regex_lite::Regex;

/// Pages that mdBook makes for a server or for itself: their links are not relative to where they lie.
const ASIDE: [&str; 2] = ["404.html", "toc.html"];

/// Every dead link below `folder`: `page: link`.
pub fn dead(folder: &Path) -> Result<Vec<String>> {
    let link = Regex::new(r#"\s(?:href|src)="([^"]*)""#).expect("the pattern is a constant");
    let id = Regex::new(r#"\sid="([^"]*)""#).expect("the pattern is a constant");
    let mut pages = BTreeMap::new();
    let mut files = BTreeSet::new();
    walk(folder, folder, &mut files)?;
    for file in files.iter().filter(|file| file.extension().is_some_and(|e| e == "html")) {
        let text = fs::read_to_string(folder.join(file)).with_context(|| format!("cannot read {}", file.display()))?;
        let ids: BTreeSet<String> = id.captures_iter(&text).map(|found| found[1].to_string()).collect();
        let links: BTreeSet<String> = link.captures_iter(&text).map(|found| found[1].replace("&amp;", "&")).collect();
        pages.insert(file.clone(), (ids, links));
    }
    let mut dead = Vec::new();
    for (page, (_, links)) in &pages {
        if ASIDE.iter().any(|name| page.ends_with(name)) {
            continue;
        }
        for link in links.iter().filter(|link| !link.contains("://") && !link.starts_with("mailto:")) {
            let (file, place) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { page.clone() } else { normal(&page.with_file_name(file)) };
            let has_place = |(ids, _): &(BTreeSet<String>, _)| place.is_empty() || ids.contains(place);
            if !files.contains(&target) || !pages.get(&target).is_none_or(has_place) {
                dead.push(format!("{}: the link {link} is dead", page.display()));
            }
        }
    }
    Ok(dead)
}

/// The files below `folder`, by their path from `root`.
fn walk(root: &Path, folder: &Path, files: &mut BTreeSet<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            walk(root, &path, files)?;
        } else {
            files.insert(path.strip_prefix(root)?.to_path_buf());
        }
    }
    Ok(())
}

/// A path without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    let mut parts = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(parts.pop()),
            Component::Normal(name) => parts.push(name),
            _ => {}
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dead_links_are_found() {
        let folder = std::env::temp_dir().join(format!("xtask-links-{}", std::process::id()));
        fs::create_dir_all(folder.join("zh")).unwrap();
        let page =
            r##"<a href="zh/b.html#x"><a href="#y"><a href="https://example.org/z"><img src="c.svg"><h1 id="z">"##;
        fs::write(folder.join("a.html"), page).unwrap();
        fs::write(folder.join("zh/b.html"), r##"<h1 id="x"><a href="../a.html#z"><a href="../a.html#x">"##).unwrap();
        let expected = ["a.html: the link #y is dead", "a.html: the link c.svg is dead"];
        let found = dead(&folder).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(found[..2], expected);
        assert_eq!(found[2..], ["zh/b.html: the link ../a.html#x is dead"]);
    }
}
